<?php

declare(strict_types=1);

use function Caravan\e;

/**
 * @var int $number
 * @var string $place
 * @var float $seconds
 */
?>
<li class="stage stage-<?= $number ?>"><span class="number"><?= $number ?></span> <strong><?= e($place) ?></strong>
<span class="meta">after <?= e(sprintf('%.2f', $seconds)) ?> s</span></li>
