"""How many examples hypothesis tries where one takes long: a share of the profile's."""

from hypothesis import settings


def one_in(share: int) -> settings:
    """One example for so many that other tests try."""
    return settings(max_examples=settings().max_examples // share)
