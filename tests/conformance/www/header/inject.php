<?php

foreach (["X-A: 1\r\nX-Evil: 1", "X-B: 1\nX-Evil: 1", "X-C: 1\0X-Evil: 1", "X-D: 1\r\n continued", "X-E: 1\r"] as $line) {
    header($line);
}
foreach (headers_list() as $line) {
    echo json_encode($line), "\n";
}
