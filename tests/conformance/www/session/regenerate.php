<?php

session_start();
$old = session_id();
$_SESSION['kept'] = 'yes';
echo session_regenerate_id(true) ? 'new ' : 'failed ';
echo $old === session_id() ? 'same' : 'other', ' ', $_SESSION['kept'];
