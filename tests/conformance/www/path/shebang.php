#!/usr/bin/env php
<?php echo 'after the first line';
