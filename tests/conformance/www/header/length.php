<?php

header('Content-Length: ' . $_GET['length']);
echo '0123456789';
