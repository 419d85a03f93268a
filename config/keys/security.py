"""TLS, SASL, delegation tokens and authorization."""

from config.checks import members, one_of, one_of_in_any_case
from config.definition import PER_BROKER, REFUSED, Area

AREA = Area(
    "Security", REFUSED, remedy="TLS, SASL and authorization are not built yet: remove this line"
)

AREA.string("authorizer.class.name", "", "The class that decides who may do what.")
AREA.plugin(
    "principal.builder.class",
    "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    "The class that names a client from its certificate or login.",
    dynamic=PER_BROKER,
)
AREA.string("security.providers", None, "Java security providers to load.")
AREA.password("delegation.token.secret.key", "The secret delegation tokens are signed with.")
AREA.long(
    "delegation.token.max.lifetime.ms",
    604800000,
    "How long a delegation token can be renewed.",
    low=1,
)
AREA.long(
    "delegation.token.expiry.time.ms",
    86400000,
    "How long a delegation token lasts unrenewed.",
    low=1,
)
AREA.long(
    "delegation.token.expiry.check.interval.ms",
    3600000,
    "How often expired tokens are looked for.",
    low=1,
)
AREA.long(
    "connections.max.reauth.ms", 0, "How long a login lasts before the client must repeat it."
)
AREA.string(
    "ssl.client.auth",
    "none",
    "Whether clients must show a certificate.",
    check=one_of("required", "requested", "none"),
    dynamic=PER_BROKER,
)
AREA.string(
    "ssl.keystore.location",
    None,
    "The file with the broker's key and certificates.",
    dynamic=PER_BROKER,
)
AREA.password("ssl.keystore.password", "The password of that file.", dynamic=PER_BROKER)
AREA.string("ssl.keystore.type", "JKS", "The format of that file.", dynamic=PER_BROKER)
AREA.password("ssl.keystore.key", "The broker's private key itself, as PEM.", dynamic=PER_BROKER)
AREA.password(
    "ssl.keystore.certificate.chain",
    "The broker's certificates themselves, as PEM.",
    dynamic=PER_BROKER,
)
AREA.password("ssl.key.password", "The password of the private key.", dynamic=PER_BROKER)
AREA.string(
    "ssl.truststore.location",
    None,
    "The file with the authorities that are trusted.",
    dynamic=PER_BROKER,
)
AREA.password("ssl.truststore.password", "The password of that file.", dynamic=PER_BROKER)
AREA.string("ssl.truststore.type", "JKS", "The format of that file.", dynamic=PER_BROKER)
AREA.password(
    "ssl.truststore.certificates", "The trusted authorities themselves, as PEM.", dynamic=PER_BROKER
)
AREA.string("ssl.protocol", "TLSv1.3", "The newest TLS version.", dynamic=PER_BROKER)
AREA.names(
    "ssl.enabled.protocols",
    ("TLSv1.2", "TLSv1.3"),
    "The TLS versions allowed.",
    check=members(),
    dynamic=PER_BROKER,
)
AREA.names(
    "ssl.cipher.suites",
    (),
    "The ciphers allowed; empty is the library's choice.",
    check=members(),
    dynamic=PER_BROKER,
)
AREA.string("ssl.provider", None, "The Java provider of TLS.", dynamic=PER_BROKER)
AREA.string(
    "ssl.keymanager.algorithm", "SunX509", "How Java reads the key store.", dynamic=PER_BROKER
)
AREA.string(
    "ssl.trustmanager.algorithm", "PKIX", "How Java reads the trust store.", dynamic=PER_BROKER
)
AREA.string(
    "ssl.endpoint.identification.algorithm",
    "https",
    "How the other side's host name is checked.",
    dynamic=PER_BROKER,
)
AREA.string(
    "ssl.secure.random.implementation", None, "The source of random numbers.", dynamic=PER_BROKER
)
AREA.plugin(
    "ssl.engine.factory.class", None, "The class that makes TLS engines.", dynamic=PER_BROKER
)
AREA.string(
    "ssl.principal.mapping.rules", "DEFAULT", "How a certificate's subject becomes a user name."
)
AREA.boolean("ssl.allow.dn.changes", False, "Whether a new certificate may have another subject.")
AREA.boolean("ssl.allow.san.changes", False, "Whether a new certificate may have other host names.")
AREA.names(
    "sasl.enabled.mechanisms",
    ("GSSAPI",),
    "The SASL mechanisms served.",
    check=members(),
    dynamic=PER_BROKER,
)
AREA.string(
    "sasl.mechanism.inter.broker.protocol",
    "GSSAPI",
    "The SASL mechanism between brokers.",
    dynamic=PER_BROKER,
)
AREA.string("sasl.mechanism.controller.protocol", "GSSAPI", "The SASL mechanism to a quorum.")
AREA.password("sasl.jaas.config", "Login settings in Java's form.", dynamic=PER_BROKER)
AREA.plugin("sasl.server.callback.handler.class", None, "The class that checks logins.")
AREA.plugin("sasl.client.callback.handler.class", None, "The class that answers login questions.")
AREA.plugin("sasl.login.class", None, "The class that logs in.")
AREA.plugin("sasl.login.callback.handler.class", None, "The class that answers while logging in.")
AREA.integer(
    "sasl.login.connect.timeout.ms", None, "How long connecting to a login provider may take."
)
AREA.integer("sasl.login.read.timeout.ms", None, "How long a login provider's answer may take.")
AREA.long("sasl.login.retry.backoff.ms", 100, "The pause before a login is tried again.")
AREA.long("sasl.login.retry.backoff.max.ms", 10000, "The longest such pause.")
AREA.double(
    "sasl.login.refresh.window.factor",
    0.8,
    "After what part of its life a login is renewed.",
    dynamic=PER_BROKER,
)
AREA.double(
    "sasl.login.refresh.window.jitter", 0.05, "How much of that is random.", dynamic=PER_BROKER
)
AREA.short(
    "sasl.login.refresh.min.period.seconds",
    60,
    "The shortest time between renewals.",
    dynamic=PER_BROKER,
)
AREA.short(
    "sasl.login.refresh.buffer.seconds",
    300,
    "How long before its end a login is renewed at the latest.",
    dynamic=PER_BROKER,
)
AREA.integer("sasl.server.max.receive.size", 524288, "The largest message of a login.")
AREA.string(
    "sasl.kerberos.service.name", None, "The Kerberos name of the brokers.", dynamic=PER_BROKER
)
AREA.string("sasl.kerberos.kinit.cmd", "/usr/bin/kinit", "The kinit program.", dynamic=PER_BROKER)
AREA.double(
    "sasl.kerberos.ticket.renew.window.factor",
    0.8,
    "After what part of its life a ticket is renewed.",
    dynamic=PER_BROKER,
)
AREA.double(
    "sasl.kerberos.ticket.renew.jitter", 0.05, "How much of that is random.", dynamic=PER_BROKER
)
AREA.long(
    "sasl.kerberos.min.time.before.relogin",
    60000,
    "The shortest time between Kerberos logins.",
    dynamic=PER_BROKER,
)
AREA.names(
    "sasl.kerberos.principal.to.local.rules",
    ("DEFAULT",),
    "How a Kerberos principal becomes a user name.",
    check=members(),
    dynamic=PER_BROKER,
)
AREA.plugin(
    "sasl.oauthbearer.jwt.retriever.class",
    "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
    "The class that fetches tokens.",
)
AREA.plugin(
    "sasl.oauthbearer.jwt.validator.class",
    "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
    "The class that checks tokens.",
)
AREA.string("sasl.oauthbearer.scope", None, "The scope asked for.")
AREA.string("sasl.oauthbearer.scope.claim.name", "scope", "The claim that holds the scope.")
AREA.string("sasl.oauthbearer.sub.claim.name", "sub", "The claim that holds the subject.")
AREA.string("sasl.oauthbearer.token.endpoint.url", None, "Where tokens are fetched.")
AREA.string("sasl.oauthbearer.jwks.endpoint.url", None, "Where signing keys are fetched.")
AREA.long(
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    3600000,
    "How often signing keys are fetched again.",
)
AREA.long(
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", 100, "The pause before that is tried again."
)
AREA.long("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", 10000, "The longest such pause.")
AREA.integer("sasl.oauthbearer.clock.skew.seconds", 30, "How far clocks may differ.")
AREA.names("sasl.oauthbearer.expected.audience", (), "The audiences accepted.", check=members())
AREA.string("sasl.oauthbearer.expected.issuer", None, "The issuer accepted.")
AREA.string(
    "sasl.oauthbearer.client.credentials.client.id", None, "The client id tokens are fetched with."
)
AREA.password(
    "sasl.oauthbearer.client.credentials.client.secret", "The secret tokens are fetched with."
)
AREA.string(
    "sasl.oauthbearer.assertion.algorithm",
    "RS256",
    "How assertions are signed.",
    check=one_of_in_any_case("ES256", "RS256"),
)
AREA.string("sasl.oauthbearer.assertion.file", None, "A file with a ready assertion.")
AREA.string("sasl.oauthbearer.assertion.template.file", None, "A file assertions are made from.")
AREA.string(
    "sasl.oauthbearer.assertion.private.key.file", None, "The key assertions are signed with."
)
AREA.password("sasl.oauthbearer.assertion.private.key.passphrase", "The passphrase of that key.")
AREA.string("sasl.oauthbearer.assertion.claim.aud", None, "The audience claim of assertions.")
AREA.string("sasl.oauthbearer.assertion.claim.iss", None, "The issuer claim of assertions.")
AREA.string("sasl.oauthbearer.assertion.claim.sub", None, "The subject claim of assertions.")
AREA.integer(
    "sasl.oauthbearer.assertion.claim.exp.seconds",
    300,
    "How long assertions last.",
    low=0,
    high=86400,
)
AREA.integer(
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    60,
    "How far before now assertions begin.",
    low=0,
    high=3600,
)
AREA.boolean(
    "sasl.oauthbearer.assertion.claim.jti.include", False, "Whether assertions carry an id."
)
