<?php

echo ob_get_level();
ob_start();
ob_start();
