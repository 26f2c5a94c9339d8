<?php
// Leaves a process whose parent is gone before it.
exec('sh -c "true & exec true" > /dev/null');
echo 'left one';
