<?php
// Leaves a process whose parent exits first.
exec('sh -c "true & exec true" > /dev/null');
echo 'left one';
