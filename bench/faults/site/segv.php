<?php

// What a faulty extension does, at a known place.
posix_kill(posix_getpid(), 11);
echo 'still here';
