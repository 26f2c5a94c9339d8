<?php

// Looks for loops over objects that hold their own position: two requests that share one take each other's elements. Part of
// the program that scan.php ends. Nothing of the application is run.

declare(strict_types=1);

/** Classes whose objects have one position. Of other classes, each loop or each request has a position. */
const ONE_POSITION = [
    'iteratoriterator', 'limititerator', 'cachingiterator', 'recursivecachingiterator', 'infiniteiterator',
    'norewinditerator', 'appenditerator', 'multipleiterator', 'callbackfilteriterator', 'regexiterator',
    'recursiveiteratoriterator', 'recursivetreeiterator', 'generator', 'splfileobject', 'spltempfileobject',
    'directoryiterator', 'filesystemiterator', 'globiterator', 'recursivedirectoryiterator',
];

/** Methods that use or change the position. */
const MOVES = ['rewind', 'next', 'prev', 'current', 'key', 'valid', 'seek'];

/** The properties of the class that is being read, and the variables of the worker script. */
final class Positions
{
    /** @var array<string, string> classes of properties */
    private array $properties = [];
    /** @var array<string, string> classes of variables outside of functions */
    private array $variables = [];
    /** @var list<array{name: string, line: int}> */
    private array $uses = [];
    /** @var list<array{rule: string, line: int}> */
    public array $findings = [];

    public function __construct(private readonly bool $isLoop)
    {
    }

    public function endClass(): void
    {
        foreach ($this->uses as ['name' => $name, 'line' => $line]) {
            $this->found($this->properties[$name] ?? '', $line);
        }
        $this->properties = $this->uses = [];
    }

    /**
     * @param list<PhpToken> $tokens
     * @param list<string> $texts
     */
    public function token(array $tokens, array $texts, int $at, ?string $inside): void
    {
        $class = self::classOf($texts[$at]);
        if ($class !== null && $tokens[$at]->is([T_STRING, T_NAME_FULLY_QUALIFIED])) {
            $this->holds($class, $tokens, $texts, $at, $inside);
        }
        if ($inside === null || $inside === '__construct') {
            return;
        }
        $line = $tokens[$at]->line;
        if ($tokens[$at]->is(T_FOREACH)) {
            for ($end = $at + 2; isset($tokens[$end]) && !$tokens[$end]->is([T_AS, ';']); $end++);
            $this->uses($tokens, $texts, $at + 2, $end, $line);
        } elseif (
            $tokens[$at]->is(T_STRING) && $texts[$at + 1] === '('
            && in_array(strtolower($texts[$at]), MOVES, true)
            && $tokens[max(0, $at - 1)]->is([T_OBJECT_OPERATOR, T_NULLSAFE_OBJECT_OPERATOR])
        ) {
            $start = $at - 2;
            if ($start >= 2 && $tokens[$start - 1]->is([T_OBJECT_OPERATOR, T_DOUBLE_COLON])) {
                $start -= 2;
            }
            $this->uses($tokens, $texts, $start, $at - 1, $line);
        }
    }

    private static function classOf(string $name): ?string
    {
        $name = strtolower($name);
        return in_array($name, ONE_POSITION, true) ? $name : null;
    }

    /**
     * A name of such a class: the type of a property, or what is assigned.
     *
     * @param list<PhpToken> $tokens
     * @param list<string> $texts
     */
    private function holds(string $class, array $tokens, array $texts, int $at, ?string $inside): void
    {
        $before = $at - ($texts[max(0, $at - 1)] === '?' ? 2 : 1);
        if (
            $tokens[$at + 1]->is(T_VARIABLE) && $before >= 0
            && $tokens[$before]->is([T_PUBLIC, T_PROTECTED, T_PRIVATE, T_STATIC, T_READONLY, T_VAR])
        ) {
            $this->properties[ltrim($texts[$at + 1], '$')] = $class;
        }
        if ($at < 3 || !$tokens[$at - 1]->is(T_NEW) || !$tokens[$at - 2]->is(['=', T_COALESCE_EQUAL])) {
            return;
        }
        if ($at > 3 && $tokens[$at - 4]->is([T_OBJECT_OPERATOR, T_DOUBLE_COLON])) {
            $this->properties[ltrim($texts[$at - 3], '$')] = $class;
        } elseif ($inside === null && $tokens[$at - 3]->is(T_VARIABLE)) {
            $this->variables[$texts[$at - 3]] = $class;
        }
    }

    /**
     * The expression between two tokens is gone through: `$this->x`, `self::$x`, or a variable of the worker script.
     *
     * @param list<PhpToken> $tokens
     * @param list<string> $texts
     */
    private function uses(array $tokens, array $texts, int $at, int $end, int $line): void
    {
        if ($end - $at === 1 && $this->isLoop) {
            $this->found($this->variables[$texts[$at]] ?? '', $line);
        }
        $isProperty = $end - $at === 3
            && ($tokens[$at + 1]->is(T_DOUBLE_COLON) || strtolower($texts[$at]) === '$this');
        if ($isProperty) {
            $this->uses[] = ['name' => ltrim($texts[$at + 2], '$'), 'line' => $line];
        }
    }

    private function found(string $class, int $line): void
    {
        if (in_array($class, ONE_POSITION, true)) {
            $this->findings[] = ['rule' => 'iterator-position', 'line' => $line];
        }
    }
}
