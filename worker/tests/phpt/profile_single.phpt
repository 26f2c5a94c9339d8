--TEST--
A profile has the waits of processes that exit after each request
--FILE--
<?php
function waits(): void
{
    usleep(400_000);
    echo 'done';
}

waits();
--HOWDAH--
max-requests 1
profile 5000
run
wait-exit
respawn
run
wait-exit
respawn
run
profiled
--EXPECT--
done
done
done
[profile: [sleep] < usleep < waits:4, 5 frames]
