<?php

header('Content-Type: application/octet-stream');
for ($i = 0; $i < 256; ++$i) {
    echo chr($i);
}
