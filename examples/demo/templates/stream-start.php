<?php

declare(strict_types=1);

/**
 * @var int $stages
 */
?>
<h1>On the road</h1>
<p class="lead">The caravan has <?= $stages ?> stages to the sea. Each line below left the server when the caravan
arrived
there, not a moment later.</p>
<div class="road">
<div class="way" aria-hidden="true"><div class="walker"><?php require __DIR__ . '/elephant.php'; ?></div></div>
<ol class="stages">
