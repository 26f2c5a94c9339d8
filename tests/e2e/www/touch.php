<?php
file_put_contents($_GET['file'], 'ran', FILE_APPEND);
echo 'ran';
