<?php

declare(strict_types=1);

namespace Caravan\Page;

use Caravan\App;
use Caravan\Http\HttpError;
use Caravan\Http\Response;
use Caravan\Http\Upload;
use Caravan\Model\Entry;
use Caravan\Model\Journal;
use Caravan\Model\Photos;

/**
 * Reading and writing the journal.
 */
final class JournalPages
{
    private const PER_PAGE = 6;

    public function __construct(private readonly App $app)
    {
    }

    public function list(): Response
    {
        $journal = new Journal($this->app->store());
        $total = $journal->count();
        $pages = max(1, (int) ceil($total / self::PER_PAGE));
        $page = $this->app->request->queryInt('page', 1, 1, $pages);
        return $this->app->view->page('journal', $page === 1 ? 'Journal' : "Journal, page $page", [
            'entries' => $journal->page(self::PER_PAGE, ($page - 1) * self::PER_PAGE),
            'total' => $total,
            'page' => $page,
            'pages' => $pages,
        ]);
    }

    public function show(int $id): Response
    {
        return $this->entryPage($id, ['author' => '', 'body' => ''], [], 200);
    }

    public function comment(int $id): Response
    {
        $this->app->session()->checkCsrf();
        $form = $this->fields('author', 'body');
        $problems = [];
        self::require($problems, $form, 'author', 'Write your name.', 60);
        self::require($problems, $form, 'body', 'Write a few words.', 2_000);
        if ($problems !== []) {
            return $this->entryPage($id, $form, $problems, 422);
        }
        $this->entry($id);
        (new Journal($this->app->store()))->addComment($id, $form['author'], $form['body']);
        $this->app->session()->flash('Thank you, ' . $form['author'] . '. Your words are in the journal.');
        return Response::seeOther("/journal/$id#comments");
    }

    public function addPhoto(int $id): Response
    {
        $this->app->session()->checkCsrf();
        $this->app->requireUser();
        $this->entry($id);
        $upload = $this->app->request->upload('photo');
        $photos = new Photos($this->app->store(), $this->app->directory()->photos());
        $problem = $upload === null ? 'Choose a photo first.' : $photos->problem($upload);
        if ($upload === null || $problem !== null) {
            return $this->entryPage($id, ['author' => '', 'body' => ''], ['photo' => (string) $problem], 422);
        }
        $this->app->session()->flash($photos->store($upload, $id)
            ? 'The photo is in the album.'
            : 'The server could not keep the photo. Look into its log.');
        return Response::seeOther("/journal/$id#photos");
    }

    public function form(): Response
    {
        $this->app->requireUser();
        return $this->writePage(['title' => '', 'place' => '', 'body' => ''], [], 200);
    }

    public function publish(): Response
    {
        $this->app->session()->checkCsrf();
        $user = $this->app->requireUser();
        $form = $this->fields('title', 'place', 'body');
        $problems = [];
        self::require($problems, $form, 'title', 'Give the entry a title.', 120);
        self::require($problems, $form, 'place', 'Say where it was.', 80);
        self::require($problems, $form, 'body', 'Tell what happened.', 20_000);
        $upload = $this->app->request->upload('photo');
        $photos = new Photos($this->app->store(), $this->app->directory()->photos());
        $problem = $upload === null ? null : $photos->problem($upload);
        if ($problem !== null) {
            $problems['photo'] = $problem;
        }
        if ($problems !== []) {
            return $this->writePage($form, $problems, 422);
        }
        $id = (new Journal($this->app->store()))->add($user['id'], $form['title'], $form['place'], $form['body']);
        $kept = !$upload instanceof Upload || $photos->store($upload, $id);
        $this->app->session()->flash($kept
            ? 'Your entry is in the journal.'
            : 'Your entry is in the journal, but the server could not keep its photo. Look into its log.');
        return Response::seeOther("/journal/$id");
    }

    /**
     * @param array<string, string> $form
     * @param array<string, string> $problems
     */
    private function entryPage(int $id, array $form, array $problems, int $status): Response
    {
        $entry = $this->entry($id);
        return $this->app->view->page('entry', $entry->title, [
            'entry' => $entry,
            'comments' => (new Journal($this->app->store()))->comments($id),
            'photos' => (new Photos($this->app->store(), $this->app->directory()->photos()))->ofEntry($id),
            'form' => $form,
            'problems' => $problems,
            'user' => $this->app->user(),
            'csrf' => $this->app->session()->csrfToken(),
            'photoBytes' => Photos::bytesMax(),
        ], $status);
    }

    /**
     * @param array<string, string> $form
     * @param array<string, string> $problems
     */
    private function writePage(array $form, array $problems, int $status): Response
    {
        return $this->app->view->page('write', 'New entry', [
            'form' => $form,
            'problems' => $problems,
            'csrf' => $this->app->session()->csrfToken(),
            'photoBytes' => Photos::bytesMax(),
        ], $status);
    }

    private function entry(int $id): Entry
    {
        return (new Journal($this->app->store()))->find($id) ?? throw HttpError::notFound();
    }

    /**
     * @return array<string, string>
     */
    private function fields(string ...$names): array
    {
        $form = [];
        foreach ($names as $name) {
            $form[$name] = $this->app->request->field($name);
        }
        return $form;
    }

    /**
     * @param array<string, string> $problems
     * @param array<string, string> $form
     */
    private static function require(array &$problems, array $form, string $name, string $missing, int $max): void
    {
        $value = $form[$name] ?? '';
        if ($value === '') {
            $problems[$name] = $missing;
        } elseif (!mb_check_encoding($value, 'UTF-8')) {
            $problems[$name] = 'This is not UTF-8 text.';
        } elseif (mb_strlen($value) > $max) {
            $problems[$name] = 'At most ' . number_format($max) . ' characters, please.';
        }
    }
}
