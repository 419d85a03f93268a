"""How a producer that was fenced is told so: older versions only know another word (KIP-588)."""

from protocol.errors import ErrorCode


def told_to_version(code: ErrorCode, version: int, first_with_fenced: int) -> ErrorCode:
    """PRODUCER_FENCED is INVALID_PRODUCER_EPOCH below the version that brought it."""
    if code is ErrorCode.PRODUCER_FENCED and version < first_with_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
