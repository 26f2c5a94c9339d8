"""Behavior of each extension of the distribution's PHP in classic, worker and coroutine pools."""
