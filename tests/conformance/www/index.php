<?php

echo 'index of the root ', $_SERVER['REQUEST_URI'];
