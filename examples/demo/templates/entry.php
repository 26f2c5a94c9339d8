<?php

declare(strict_types=1);

use Caravan\App;
use Caravan\Model\Comment;
use Caravan\Model\Entry;

use function Caravan\day;
use function Caravan\e;
use function Caravan\paragraphs;

/**
 * @var App $app
 * @var Entry $entry
 * @var list<Comment> $comments
 * @var list<array{id: string, width: int, height: int}> $photos
 * @var array<string, string> $form
 * @var array<string, string> $problems
 * @var array{id: int, name: string}|null $user
 * @var string $csrf
 * @var int $photoBytes
 */
?>
<article class="entry">
<img class="cover" src="<?= e($entry->cover()) ?>" alt="" width="800" height="450">
<p class="where"><?= e($entry->place) ?> · <?= day($entry->createdAt) ?> · <?= e($entry->author) ?></p>
<h1><?= e($entry->title) ?></h1>
<div class="prose">
<?= paragraphs($entry->body) ?>
</div>
</article>

<?php if ($photos !== [] || $user !== null) : ?>
<section class="narrow" aria-labelledby="photos">
<h2 id="photos">Photos</h2>
<?php if ($photos !== []) : ?>
<ul class="album">
<?php foreach ($photos as $index => $photo) : ?>
<li><a href="/photos/<?= e($photo['id']) ?>"><img src="/photos/<?= e($photo['id']) ?>" loading="lazy"
 width="<?= $photo['width'] ?>" height="<?= $photo['height'] ?>" alt="Photo <?= $index + 1 ?> of this entry"></a></li>
<?php endforeach ?>
</ul>
<?php endif ?>
<?php if ($user !== null) : ?>
<form class="panel" method="post" action="/journal/<?= $entry->id ?>/photos" enctype="multipart/form-data">
<input type="hidden" name="csrf" value="<?= e($csrf) ?>">
<?= $app->view->render('photo-field', ['problems' => $problems, 'photoBytes' => $photoBytes]) ?>
<button class="button" type="submit">Add the photo</button>
</form>
<?php endif ?>
</section>
<?php endif ?>

<section class="narrow" aria-labelledby="comments">
<h2 id="comments"><?= count($comments) === 1 ? '1 comment' : count($comments) . ' comments' ?></h2>
<?php if ($comments !== []) : ?>
<ol class="comments">
<?php foreach ($comments as $comment) : ?>
<li><p class="meta"><strong><?= e($comment->author) ?></strong> · <?= day($comment->createdAt) ?></p>
<?= paragraphs($comment->body) ?></li>
<?php endforeach ?>
</ol>
<?php endif ?>
<form class="panel" method="post" action="/journal/<?= $entry->id ?>/comments#comments">
<h3>Ride along</h3>
<input type="hidden" name="csrf" value="<?= e($csrf) ?>">
<?php
$shared = ['form' => $form, 'problems' => $problems];
echo $app->view->render('field', $shared + ['name' => 'author', 'label' => 'Your name', 'max' => 60, 'rows' => 1]);
echo $app->view->render('field', $shared + ['name' => 'body', 'label' => 'Your words', 'max' => 2000, 'rows' => 4]);
?>
<button class="button" type="submit">Leave the comment</button>
</form>
</section>
<p class="narrow"><a class="more back" href="/journal">Back to the journal</a></p>
