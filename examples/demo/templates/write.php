<?php

declare(strict_types=1);

use Caravan\App;

use function Caravan\e;

/**
 * @var App $app
 * @var array<string, string> $form
 * @var array<string, string> $problems
 * @var string $csrf
 * @var int $photoBytes
 */

$shared = ['form' => $form, 'problems' => $problems];
?>
<div class="narrow">
<h1>A new entry</h1>
<form class="panel" method="post" action="/journal/new" enctype="multipart/form-data">
<input type="hidden" name="csrf" value="<?= e($csrf) ?>">
<?= $app->view->render('field', $shared + ['name' => 'title', 'label' => 'Title', 'max' => 120, 'rows' => 1]) ?>
<?= $app->view->render('field', $shared + ['name' => 'place', 'label' => 'Place', 'max' => 80, 'rows' => 1]) ?>
<?= $app->view->render('field', $shared + ['name' => 'body', 'label' => 'What happened', 'max' => 20000, 'rows' =>
10]) ?>
<?= $app->view->render('photo-field', ['problems' => $problems, 'photoBytes' => $photoBytes]) ?>
<button class="button" type="submit">Publish</button>
</form>
</div>
