<?php

gc_enable();
for ($i = 0; $i < 3; ++$i) {
    $a = new stdClass();
    $a->self = $a;
}
unset($a);
echo gc_collect_cycles() > 0 ? 'collected' : 'nothing';
