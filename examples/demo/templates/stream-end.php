<?php

declare(strict_types=1);

/**
 * @var int $pid
 */
?>
</ol>
</div>
<p class="arrived">Arrived, all seven. Worker <?= $pid ?> wrote this page in one go, with <code>flush()</code> after
every stage.
<a href="/stream">Ride again</a></p>
