<?php

echo error_reporting() === E_ALL ? 'all' : error_reporting();
error_reporting(0);
