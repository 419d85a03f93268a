"""Settings every suite shares: hypothesis profiles and asyncio's debug mode."""

import os

from hypothesis import HealthCheck, settings

SLOW_MACHINE = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "quick", max_examples=60, deadline=None, suppress_health_check=SLOW_MACHINE
)
settings.register_profile(
    "long", max_examples=3000, deadline=None, suppress_health_check=SLOW_MACHINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
