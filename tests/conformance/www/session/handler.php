<?php

final class Handler implements SessionHandlerInterface
{
    public function open($path, $name): bool
    {
        echo "open $name\n";
        return true;
    }
    public function close(): bool
    {
        echo "close\n";
        return true;
    }
    public function read($id): string
    {
        echo "read $id\n";
        return 'n|i:41;';
    }
    public function write($id, $data): bool
    {
        echo "write $id $data\n";
        return true;
    }
    public function destroy($id): bool
    {
        echo "destroy $id\n";
        return true;
    }
    public function gc($age): int
    {
        return 0;
    }
}
ob_start();
session_set_save_handler(new Handler(), true);
session_id('fixed0id');
session_start();
echo ++$_SESSION['n'], "\n";
