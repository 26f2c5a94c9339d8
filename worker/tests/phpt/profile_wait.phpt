--TEST--
A profile shows the wait of a function, and continues with the worker's successor
--FILE--
<?php
function waits(): void
{
    $end = hrtime(true) + 300_000_000;
    usleep(300_000);
    echo hrtime(true) < $end ? 'early' : 'done';
}

waits();
--HOWDAH--
profile 5000
run
stop
respawn
run
profiled
--EXPECT--
done
done
[profile: [sleep] < usleep < waits:5, 5 frames]
