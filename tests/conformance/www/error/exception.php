<?php

echo 'before ';
throw new RuntimeException('not caught', 3, new LogicException('the cause'));
