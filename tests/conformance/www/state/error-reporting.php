<?php

echo error_reporting();
error_reporting(0);
