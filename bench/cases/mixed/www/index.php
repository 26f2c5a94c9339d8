<?php

if (isset($_GET['slow'])) {
    usleep(100_000);
}
echo "done\n";
