<?php

// Programs that requests start. They inherit the open files of their own request.

declare(strict_types=1);

$ways = [
    static fn (): ?string => shell_exec('ls -l /proc/self/fd'),
    static function (): string {
        $pipe = popen('ls -l /proc/self/fd', 'r');
        $list = stream_get_contents($pipe);
        pclose($pipe);
        return $list;
    },
    static function (): string {
        $process = proc_open(['ls', '-l', '/proc/self/fd'], [1 => ['pipe', 'w']], $pipes);
        $list = stream_get_contents($pipes[1]);
        proc_close($process);
        return $list;
    },
];

return static fn (object $shared, string $dir): array => [
    'process' => static fn (string $id) => need(shell_exec("echo $id") === "$id\n", 'the output of another one'),
    'descriptors' => static function (string $id) use ($dir, $shared, $ways): void {
        $listening = $shared->get('listening', static fn (): ArrayObject => new ArrayObject());
        $held = [fopen("$dir/open-$id", 'w+'), stream_socket_server('tcp://127.0.0.1:0')];
        $own = 'socket:[' . fstat($held[1])['ino'] . ']';
        $listening[$own] = $id;
        $list = (string) $ways[crc32($id) % 3]();
        $others = array_filter(array_keys(array_diff($listening->getArrayCopy(), [$id])), static fn ($name) => str_contains($list, $name));
        unset($listening[$own]);
        unlink("$dir/open-$id");
        array_map('fclose', $held); // or OPcache takes it for unused
        preg_match_all('/open-(\w+)/', $list, $found);
        need($found[1] === [$id], 'files of others: ' . implode(' ', $found[1]));
        need(str_contains($list, $own) && $others === [], 'sockets of others: ' . implode(' ', $others));
    },
];
