<?php

declare(strict_types=1);

use function Caravan\e;

/**
 * @var string $reference
 * @var string $kind
 * @var int $pid
 */
?>
<section class="notice">
<p class="status">500</p>
<h1>A rider fell off. The elephant goes on.</h1>
<p class="lead">This request ended with an uncaught <code><?= e($kind) ?></code> in worker <?= $pid ?>. Only this
request:
the worker has caught its breath and waits for the next one.</p>
<p>The log has the whole story under the number <code><?= e($reference) ?></code>.</p>
<p class="actions"><a class="button" href="/trials/throw">Throw another</a>
<a class="button quiet" href="/#tour">Back to the
trials</a></p>
</section>
