<?php

// Looks for code that waits where another request may come in between: in magic methods, in the generator of an entry
// of APCu. Part of the program that scan.php ends. Nothing of the application is run.

declare(strict_types=1);

/** Functions that wait for something else than a disk. */
const WAITS = [
    'sleep', 'usleep', 'time_nanosleep', 'time_sleep_until', 'curl_exec', 'curl_multi_exec', 'curl_multi_select',
    'fsockopen', 'stream_socket_client', 'flock', 'sem_acquire', 'msg_receive',
    'mysqli_query', 'mysqli_connect', 'mysqli_prepare', 'mysqli_stmt_execute', 'pg_query',
    'pg_query_params', 'pg_execute', 'pg_connect', 'gethostbyname', 'dns_get_record', 'socket_read', 'socket_recv',
    'socket_connect', 'mail', 'exec', 'shell_exec', 'system', 'passthru', 'proc_open', 'popen', 'ldap_search',
    'ftp_get', 'ssh2_exec',
];

/** They wait only if they open an address, which is seen where it is written out. */
const WAITS_FOR_ADDRESS = ['file_get_contents', 'fopen', 'file', 'copy', 'readfile'];

/** Methods of clients of databases and of HTTP, whatever class they are in. */
const WAITING_METHODS = [
    'query', 'execute', 'executequery', 'executestatement', 'fetch', 'fetchall', 'fetchcolumn', 'fetchassociative',
    'fetchallassociative', 'fetchone', 'sendrequest', 'findby', 'findoneby', 'findall', 'begintransaction',
    'hgetall', 'brpop', 'blpop', 'getcontents', 'suspend',
];

/** Classes that connect when they are made. */
const CONNECTING = ['pdo', 'mysqli', 'soapclient'];

/** Magic methods that the engine calls for access to members of an object. */
const MAGIC = ['__get', '__set', '__isset', '__unset', '__call'];

/** Functions that open a socket which a program started later inherits. */
const OPENS_SOCKET = ['fsockopen', 'pfsockopen', 'stream_socket_client', 'stream_socket_server', 'socket_create'];

/** Functions that start a program. */
const STARTS_PROGRAM = ['exec', 'shell_exec', 'system', 'passthru', 'proc_open', 'popen'];

/** What is known of one function or method when its end is read. */
final class Body
{
    public bool $waits = false;
    public ?int $socket = null;
    /** @var list<string> methods of the same object that it calls */
    public array $calls = [];

    public function __construct(public readonly string $name, public readonly int $line, public readonly int $depth)
    {
    }
}

/** The functions around a token, and the methods of its class. */
final class Waits
{
    /** @var list<Body> */
    private array $bodies = [];
    /** @var array<string, Body> methods of the class that is being read */
    private array $methods = [];
    /** @var list<array{rule: string, line: int}> */
    public array $findings = [];
    /** Where the arguments of apcu_entry() end; the token after them. */
    private int $entryEnd = -1;
    private int $entryLine = 0;

    public function begin(string $name, int $line, int $depth): void
    {
        $this->bodies[] = new Body($name, $line, $depth);
    }

    /** The block of this depth ends. */
    public function end(int $depth): void
    {
        $body = end($this->bodies);
        if ($body === false || $body->depth !== $depth) {
            return;
        }
        array_pop($this->bodies);
        $outer = end($this->bodies);
        if ($outer !== false) {
            // A closure: what it does, the function around it may do.
            $outer->waits = $outer->waits || $body->waits;
            $outer->calls = [...$outer->calls, ...$body->calls];
            return;
        }
        $this->methods[$body->name] = $body;
    }

    /** A class ends, or the file: which of its magic methods wait, themselves or through other methods? */
    public function endClass(): void
    {
        do {
            $before = count(array_filter($this->methods, static fn(Body $body): bool => $body->waits));
            foreach ($this->methods as $body) {
                foreach ($body->calls as $name) {
                    $body->waits = $body->waits || ($this->methods[$name]->waits ?? false);
                }
            }
            $after = count(array_filter($this->methods, static fn(Body $body): bool => $body->waits));
        } while ($after > $before);
        foreach ($this->methods as $name => $body) {
            if ($body->waits && in_array($name, MAGIC, true)) {
                $this->findings[] = ['rule' => 'magic-wait', 'line' => $body->line];
            }
        }
        $this->methods = [];
    }

    /**
     * @param list<PhpToken> $tokens
     * @param list<string> $texts
     */
    public function token(array $tokens, array $texts, int $at): void
    {
        if (!$tokens[$at]->is([T_STRING, T_NAME_FULLY_QUALIFIED])) {
            return;
        }
        $name = strtolower($texts[$at]);
        $before = $tokens[max(0, $at - 1)];
        if ($before->is(T_NEW)) {
            $this->waits(in_array($name, CONNECTING, true), $tokens[$at]->line, $at);
            return;
        }
        if ($texts[$at + 1] !== '(' || $before->is(T_FUNCTION)) {
            return;
        }
        if ($before->is([T_OBJECT_OPERATOR, T_NULLSAFE_OBJECT_OPERATOR, T_DOUBLE_COLON])) {
            $body = end($this->bodies);
            $of = strtolower($texts[max(0, $at - 2)]);
            if ($body !== false && in_array($of, ['$this', 'self', 'static'], true)) {
                $body->calls[] = $name;
            } else {
                $this->waits(in_array($name, WAITING_METHODS, true), $tokens[$at]->line, $at);
            }
            return;
        }
        $this->call($name, $tokens, $texts, $at);
    }

    /**
     * @param list<PhpToken> $tokens
     * @param list<string> $texts
     */
    private function call(string $name, array $tokens, array $texts, int $at): void
    {
        $line = $tokens[$at]->line;
        if ($name === 'apcu_entry') {
            $this->entryLine = $line;
            $this->entryEnd = self::closing($texts, $at + 1);
            return;
        }
        $body = end($this->bodies);
        if ($body !== false && in_array($name, OPENS_SOCKET, true)) {
            $body->socket = $line;
        }
        if (in_array($name, STARTS_PROGRAM, true) && $body !== false && $body->socket !== null) {
            $this->findings[] = ['rule' => 'program-beside-socket', 'line' => $line];
        }
        $this->waits(in_array($name, WAITS, true) || self::opensAddress($name, $tokens, $texts, $at), $line, $at);
    }

    private function waits(bool $waits, int $line, int $at): void
    {
        if (!$waits) {
            return;
        }
        $body = end($this->bodies);
        if ($body !== false) {
            $body->waits = true;
        }
        if ($at < $this->entryEnd) {
            $this->entryEnd = -1;
            $this->findings[] = ['rule' => 'entry-wait', 'line' => $this->entryLine];
        }
    }

    /**
     * Whether a function of files is given an address.
     *
     * @param list<PhpToken> $tokens
     * @param list<string> $texts
     */
    private static function opensAddress(string $name, array $tokens, array $texts, int $at): bool
    {
        // With a variable in it, a string is several tokens.
        return in_array($name, WAITS_FOR_ADDRESS, true)
            && preg_match('~^["\'](?:https?|ftps?)://~i', ($texts[$at + 2] ?? '') . ($texts[$at + 3] ?? '')) === 1;
    }

    /**
     * Where the parenthesis that is opened at a token is closed.
     *
     * @param list<string> $texts
     */
    private static function closing(array $texts, int $at): int
    {
        $open = 0;
        for (; isset($texts[$at]); $at++) {
            $open += ['(' => 1, ')' => -1][$texts[$at]] ?? 0;
            if ($open === 0) {
                break;
            }
        }
        return $at;
    }
}
