<?php

// Stands for a back end that takes 100 ms: PHP waits and uses no processor.
usleep(100_000);
echo "done\n";
