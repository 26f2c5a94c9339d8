<?php

echo PHP_SAPI;
