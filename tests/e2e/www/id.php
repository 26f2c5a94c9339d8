<?php
// A response that belongs to exactly one request: its id is at the start and at the end, and between them is the
// requested number of bytes.
$id = $_GET['id'] ?? '';
echo "[$id]", str_repeat('.', (int) ($_GET['size'] ?? 0)), "[$id]";
