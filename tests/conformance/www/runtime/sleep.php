<?php

$start = hrtime(true);
usleep(20_000);
echo hrtime(true) - $start >= 20_000_000 ? 'slept' : 'woken';
