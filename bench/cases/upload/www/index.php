<?php

header('Content-Type: text/plain; charset=UTF-8');
echo $_POST['note'] ?? 'no note', ' ', isset($_FILES['file']) ? sha1_file($_FILES['file']['tmp_name']) : 'no file', "\n";
