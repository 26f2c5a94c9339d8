<?php

declare(strict_types=1);

/**
 * @var int $pid
 */
?>
<section class="notice">
<p class="status">500</p>
<h1>Too much tea for one elephant.</h1>
<p class="lead">This request used up its memory in worker <?= $pid ?>, and PHP stopped it with a fatal error that no
<code>catch</code> can see. The shutdown function that made this page ran all the same.</p>
<p>Load the page again: a worker is there for you.</p>
<p class="actions"><a class="button" href="/trials/memory">Load it again</a>
<a class="button quiet" href="/#tour">Back to the
trials</a></p>
</section>
