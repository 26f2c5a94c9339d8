<?php

declare(strict_types=1);

/**
 * Storage that the applications of all frameworks share, so that each application contains only its framework's part.
 */
final class Notes
{
    private readonly PDO $pdo;

    public function __construct(private readonly string $directory)
    {
        $this->pdo = new PDO("sqlite:$directory/notes.db");
        $this->pdo->exec('CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT, facts TEXT)');
    }

    /**
     * @return list<array{id: int, text: string, facts: string}>
     */
    public function all(): array
    {
        return $this->pdo->query('SELECT id, text, facts FROM notes ORDER BY id')->fetchAll(PDO::FETCH_ASSOC);
    }

    /**
     * Stores a note and, if there is one, the file. The callback moves the file to the given path.
     */
    public function add(string $text, ?callable $moveFile): void
    {
        $this->pdo->prepare('INSERT INTO notes (text, facts) VALUES (?, ?)')->execute([$text, '']);
        $id = (int) $this->pdo->lastInsertId();
        if ($moveFile !== null) {
            $moveFile($this->file($id));
            $facts = filesize($this->file($id)) . ' bytes, ' . hash_file('sha256', $this->file($id));
            $this->pdo->prepare('UPDATE notes SET facts = ? WHERE id = ?')->execute([$facts, $id]);
        }
    }

    public function file(int $id): string
    {
        return "$this->directory/$id.bin";
    }

    public static function page(string $name, ?string $user, array $notes, string $token): string
    {
        $e = static fn (string $text): string => htmlspecialchars($text, ENT_QUOTES);
        $html = "<!DOCTYPE html><html lang=\"en\"><title>$name</title><h1>Hello from $name</h1>\n<p>"
            . ($user === null ? 'Nobody' : $e($user)) . " is logged in</p>\n<ul>\n";
        foreach ($notes as $note) {
            $html .= "<li>{$e($note['text'])} ({$note['facts']})</li>\n";
        }
        $hidden = "<input type=\"hidden\" name=\"_token\" value=\"{$e($token)}\">";
        return $html . "</ul>\n<form action=\"/notes\" method=\"post\" enctype=\"multipart/form-data\">$hidden"
            . '<input name="text"><input type="file" name="file"><button>Keep</button></form>'
            . "\n<form action=\"/logout\" method=\"post\">$hidden<button>Log out</button></form></html>\n";
    }

    public static function login(string $token, string $problem = ''): string
    {
        return '<!DOCTYPE html><html lang="en"><title>Log in</title><form action="/login" method="post">'
            . '<input type="hidden" name="_token" value="' . htmlspecialchars($token, ENT_QUOTES) . '">'
            . "<p>$problem</p><input name=\"name\"><input name=\"password\" type=\"password\"><button>Log in</button>"
            . "</form></html>\n";
    }
}
