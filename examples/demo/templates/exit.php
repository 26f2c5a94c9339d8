<?php

declare(strict_types=1);

/**
 * @var int $pid
 */
?>
<section class="notice">
<p class="status">exit</p>
<h1>This request ended in the middle of a sentence, and</h1>
<p class="lead">right here worker <?= $pid ?> called <code>exit()</code>. All that was printed before has reached
you.</p>
