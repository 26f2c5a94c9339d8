<?php

declare(strict_types=1);

use Caravan\App;

use function Caravan\e;

/**
 * @var App $app
 */
?>
</main>
<footer class="bottom">
<div class="wrap">
<p>Caravan is the demo of <strong>Howdah</strong>, the PHP application server with room for many riders.</p>
<p class="served">Made by worker <?= (int) getmypid() ?> with PHP <?= e(PHP_VERSION) ?> in
<?= e(sprintf('%.1f', $app->request->elapsed() * 1000)) ?> ms</p>
</div>
</footer>
</body>
</html>
