<?php
// The answer belongs to one request and to no other: the id in front and behind, and between them
// as many bytes as asked for.
$id = $_GET['id'] ?? '';
echo "[$id]", str_repeat('.', (int) ($_GET['size'] ?? 0)), "[$id]";
