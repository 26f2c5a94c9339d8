<?php

ob_start(fn ($buffer) => "<$buffer>", 4);
echo 'ab';
echo 'cdef';
echo 'g';
ob_end_flush();
