<?php

usleep(20_000);
echo "slept\n";
