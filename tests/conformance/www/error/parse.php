<?php

echo 'never';
this is no PHP;
