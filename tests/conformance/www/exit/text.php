<?php

echo 'before ';
exit('text');
echo 'never';
