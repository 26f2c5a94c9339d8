<?php

foreach ([E_USER_NOTICE, E_USER_WARNING, E_USER_DEPRECATED] as $level) {
    trigger_error("level $level", $level);
}
echo 'goes on';
