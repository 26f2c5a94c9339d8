<?php

declare(strict_types=1);

namespace Caravan;

use Caravan\Http\HttpError;
use Caravan\Http\Request;
use Caravan\Http\Response;
use Caravan\Http\Session;
use Caravan\Model\DataDirectory;
use Caravan\Model\Database;
use Caravan\Model\Store;
use Caravan\Page\AccountPages;
use Caravan\Page\ApiPages;
use Caravan\Page\HomePages;
use Caravan\Page\ImagePages;
use Caravan\Page\JournalPages;
use Caravan\Page\TrialPages;
use LogicException;
use Throwable;

/**
 * One request from its address to its response, and the state that the pages share.
 */
final class App
{
    public readonly View $view;
    private ?Session $session = null;
    private ?DataDirectory $directory = null;
    private ?Store $store = null;

    /**
     * @param int|null $served requests that this process has served in worker mode, this one included
     */
    public function __construct(public readonly Request $request, public readonly ?int $served = null)
    {
        $this->view = new View($this);
    }

    public function run(): void
    {
        try {
            $this->directory = DataDirectory::open($this->request);
            $response = $this->route();
        } catch (HttpError $error) {
            $response = $this->problem($error);
        } catch (Throwable $error) {
            $response = $this->failure($error);
        }
        $response->send($this->request);
    }

    public function store(): Store
    {
        return $this->store ??= Database::open($this->directory());
    }

    public function directory(): DataDirectory
    {
        return $this->directory ?? throw new LogicException('The data folder is opened before any page runs.');
    }

    public function session(): Session
    {
        return $this->session ??= new Session($this->request, $this->directory()->sessions());
    }

    /**
     * Whether sessions can be stored: the page that reports a failure cannot show the visitor.
     */
    public function hasSessions(): bool
    {
        return $this->directory !== null;
    }

    /**
     * @return array{id: int, name: string}|null who is logged in
     */
    public function user(): ?array
    {
        $user = $this->hasSessions() ? $this->session()->get('user') : null;
        if (!is_array($user) || !is_int($user['id'] ?? null) || !is_string($user['name'] ?? null)) {
            return null;
        }
        return ['id' => $user['id'], 'name' => $user['name']];
    }

    /**
     * @throws HttpError without a login
     * @return array{id: int, name: string}
     */
    public function requireUser(): array
    {
        return $this->user() ?? throw new HttpError(
            403,
            'Riders only',
            'Log in to write in the journal. The login page tells you how.',
        );
    }

    /**
     * @throws HttpError when the address or its method is not known
     */
    private function route(): Response
    {
        $path = $this->request->path;
        $journal = new JournalPages($this);
        $account = new AccountPages($this);
        $trials = new TrialPages($this);
        $api = new ApiPages($this);
        $pages = match ($path) {
            '/', '/index.php' => ['GET' => (new HomePages($this))->home(...)],
            '/about' => ['GET' => (new HomePages($this))->about(...)],
            '/journal' => ['GET' => $journal->list(...)],
            '/journal/new' => ['GET' => $journal->form(...), 'POST' => $journal->publish(...)],
            '/login' => ['GET' => $account->form(...), 'POST' => $account->login(...)],
            '/logout' => ['POST' => $account->logout(...)],
            '/slow' => ['GET' => $trials->slow(...)],
            '/slow/wait' => ['GET' => $trials->wait(...)],
            '/stream' => ['GET' => $trials->stream(...)],
            '/trials/throw' => ['GET' => $trials->throw(...)],
            '/trials/exit' => ['GET' => $trials->exit(...)],
            '/trials/memory' => ['GET' => $trials->memory(...)],
            '/api/entries' => ['GET' => $api->entries(...)],
            '/api/pulse' => ['GET' => $api->pulse(...)],
            default => $this->numbered($path, $journal),
        };
        $method = $this->request->isHead() ? 'GET' : $this->request->method;
        $page = $pages[$method] ?? throw new HttpError(
            405,
            'Not this way',
            "This page does not know the method $method.",
            ['Allow' => implode(', ', array_keys($pages)) . (isset($pages['GET']) ? ', HEAD' : '')],
        );
        return $page();
    }

    /**
     * The addresses that carry a number or a name.
     *
     * @throws HttpError when there is no such page
     * @return array<string, callable(): Response>
     */
    private function numbered(string $path, JournalPages $journal): array
    {
        $images = new ImagePages($this);
        if (preg_match('#^/journal/([1-9]\d{0,8})(/comments|/photos)?$#D', $path, $match) === 1) {
            $id = (int) $match[1];
            return match ($match[2] ?? '') {
                '/comments' => ['POST' => static fn (): Response => $journal->comment($id)],
                '/photos' => ['POST' => static fn (): Response => $journal->addPhoto($id)],
                default => ['GET' => static fn (): Response => $journal->show($id)],
            };
        }
        if (preg_match('#^/photos/([0-9a-f]{32})$#D', $path, $match) === 1) {
            return ['GET' => static fn (): Response => $images->photo($match[1])];
        }
        if (preg_match('#^/covers/([1-9]\d{0,8})\.svg$#D', $path, $match) === 1) {
            return ['GET' => static fn (): Response => $images->cover((int) $match[1])];
        }
        throw HttpError::notFound();
    }

    private function problem(HttpError $error): Response
    {
        if (str_starts_with($this->request->path, '/api/')) {
            $response = Response::json(['error' => $error->title, 'message' => $error->getMessage()], $error->status);
        } else {
            $response = $this->view->page('error', $error->title, [
                'status' => $error->status,
                'title' => $error->title,
                'message' => $error->getMessage(),
            ], $error->status);
        }
        foreach ($error->headers as $name => $value) {
            $response = $response->with($name, $value);
        }
        return $response;
    }

    /**
     * The visitor reads a number, the log has the story that belongs to it.
     */
    private function failure(Throwable $error): Response
    {
        $reference = bin2hex(random_bytes(4));
        error_log("caravan [$reference] " . $error->__toString());
        return $this->view->page('failure', 'Something broke', [
            'reference' => $reference,
            'kind' => $error::class,
            'pid' => (int) getmypid(),
        ], 500);
    }
}
