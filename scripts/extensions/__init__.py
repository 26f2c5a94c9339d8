"""What each extension of the distribution's PHP does in classic, worker and coroutine pools."""
