<?php

declare(strict_types=1);

use function Caravan\e;

/**
 * @var float $seconds
 * @var int $pid
 */
?>
<section class="notice">
<p class="status"><?= e(sprintf('%.2f s', $seconds)) ?></p>
<h1>The tea is ready.</h1>
<p class="lead">Worker <?= $pid ?> waited all that time for you, and for nobody else.</p>
<p class="actions"><a class="button" href="/slow">See who was served meanwhile</a></p>
</section>
