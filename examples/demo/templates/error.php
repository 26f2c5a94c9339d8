<?php

declare(strict_types=1);

use function Caravan\e;

/**
 * @var int $status
 * @var string $title
 * @var string $message
 */
?>
<section class="notice">
<p class="status"><?= $status ?></p>
<h1><?= e($title) ?></h1>
<p class="lead"><?= e($message) ?></p>
<p class="actions"><a class="button" href="/">To the start page</a> <a class="button quiet" href="/journal">To the
journal</a></p>
</section>
